"""Answers as people read them: `document` is what they consist of; the other modules show it somewhere."""
