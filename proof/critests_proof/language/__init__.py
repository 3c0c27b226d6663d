"""The language of faults: a line of text, checked against the API's description, that breaks one promise."""
