"""`critests completion`: lines for the shell that complete commands and options."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes SHELL complete critests: eval "$(critests completion bash)"."""
    root = context.find_root().command
    found = get_completion_class(shell)
    if found is None:
        msg = f"no completion for {shell}"
        raise click.ClickException(msg)
    click.echo(found(root, {}, "critests", "_CRITESTS_COMPLETE").source())
