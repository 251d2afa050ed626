"""Sources of an audit: tables, ledgers, databases and logs of schedulers become the rows of a history."""
