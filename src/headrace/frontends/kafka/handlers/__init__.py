"""One file per API key. Each opens with its versions; ``routes.py`` lists them."""
