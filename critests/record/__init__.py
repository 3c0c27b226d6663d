"""The run record: what one run found, as data that every report is derived from. Standard library only.

`results` and `run` hold the dataclasses, `files` reads and writes them, `layout` names the folders,
`judgement` turns raw outcomes into final ones, `expectations` knows the known failures, `merge` joins shards,
`schema` publishes the JSON schema. Nothing is imported here: who only looks for a run's folder does not wait
for the rest.
"""
