"""The run record: the results of one run as data, from which every report is derived. Standard library only.

`result_records` and `run_record` hold the dataclasses, `files` reads and writes them, `run_layout` names the
folders, `judgement` turns raw outcomes into final ones, `expectations` reads known failures, `merge` joins
shards, `schema` publishes the JSON schema. Nothing is imported here, so that looking for a run's folder is
fast.
"""
