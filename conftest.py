"""For plain pytest in a checkout; the plugin comes by its entry point where critests is installed."""

import importlib.metadata

if not any(point.value == "critests.plugin" for point in importlib.metadata.entry_points(group="pytest11")):
    pytest_plugins = ["critests.plugin"]
