"""What only this paper adds to the command line."""

from katayori_tools.options import Commands, add_server, calling, new_command, positive


def add_commands(commands: Commands) -> None:
    """Commands by which models and people make or mend its items."""
    one = new_command(
        commands,
        "construct",
        calling("papers.jubaku_v2.construct"),
        "make cases as JUBAKU-v2 was made: generate, screen, review, validate",
    )
    one.add_argument("folder", help="where the steps write, and people edit, their files")
    one.add_argument("--models", help="the generator and, if another, the screening model")
    one.add_argument("--seeds", help="a seed file, or jubaku_v1 (default: our seeds)")
    one.add_argument("--raters", type=int, default=6, help="people who rate every case (6)")
    one.add_argument("--prompts", help="a folder of prompt files that replaces our wording")
    one.add_argument("--limit", type=positive, help="use so many seeds")
    one.add_argument("--drafts", type=positive, default=3, help="drafts of each seed (3)")
    one.add_argument(
        "--screening",
        choices=("both", "either"),
        default="both",
        help="keep a draft the screener answers with bias in both orders, or in either (both)",
    )
    one.add_argument("--engine", help="local engine for a local model")
    add_server(one)
