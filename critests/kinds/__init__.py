"""The runtimes of the field as data: what each is called, which programs it is made of, where it listens."""
