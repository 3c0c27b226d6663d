"""Generates random sequences of calls, judges them by the model of the API after every step, and returns the
shortest sequence that breaks a promise.

`exploring` runs the rounds, `step_machine` generates sequences with Hypothesis (`concurrent_steps` those of
several clients), `step_generator` lists the possible steps, `sequence_runner` runs them on a runtime,
`shortening` removes steps that are not needed, `exploration_findings` writes what was found.
"""
