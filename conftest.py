"""For plain pytest in a checkout."""

pytest_plugins = ["critests.plugin"]
