"""The map: in which problems a rule is enough, in which learning wins, and which memory is best."""
