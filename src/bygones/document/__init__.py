"""Answers as people read them: `document` defines their parts, and the other modules show them."""
