"""Imports the modules of a run in the process from which runs are forked."""

import importlib
import pkgutil

import critests.controller
import critests.plugin
import critests.validation

importlib.import_module("tests.plugin.broken_rpcs")
for module in pkgutil.walk_packages(critests.validation.__path__, "critests.validation."):
    importlib.import_module(module.name)
