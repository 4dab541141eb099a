"""Light clients for loads where a full client would be what is measured."""
