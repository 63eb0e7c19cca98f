"""What only this paper adds to the command line."""

from katayori_tools.options import Commands, add_server, calling, new_command, positive


def add_commands(commands: Commands) -> None:
    """Commands by which models and people make or mend its items."""
    one = new_command(
        commands,
        "proofread",
        calling("papers.inter_jbbq.proofread"),
        "a model smooths inter-JBBQ passages, for people to read",
    )
    one.add_argument("log", help="the file to write: before, after, accepted or why not (.csv)")
    one.add_argument("--models", required=True, help="the proof-reader, one model")
    one.add_argument(
        "--topics", default="", help="a folder of topic files of your own (default: ours)"
    )
    one.add_argument("--limit", type=positive, help="so many passages (default: all)")
    add_server(one)
