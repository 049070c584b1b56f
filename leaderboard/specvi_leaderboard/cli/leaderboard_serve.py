"""Show a leaderboard's site in the browser, from this machine only."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def serve(
    site: Annotated[Path, typer.Argument(help="Folder that `specvi leaderboard build` wrote.")] = Path(
        "site"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 8000,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
) -> None:
    """Serve SITE at 127.0.0.1 until Ctrl-C. Nobody else can reach it; any web server does as well."""
    import webbrowser
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    from specvi_benchmark.errors import UserError
    from specvi_leaderboard.published import PUBLISHED_FILE

    if not (site / PUBLISHED_FILE).is_file():
        raise UserError(
            "not a leaderboard's site",
            where=site,
            expected=PUBLISHED_FILE,
            fix="specvi leaderboard build RUNS",
        )

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing for each file."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(Quiet, directory=str(site)))
    except OSError as error:
        raise UserError(
            "the port can't be used",
            where=f"--port {port}",
            got=error.strerror,
            fix="--port 0 takes a free one",
        ) from None
    with server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        typer.echo(f"{site} at {address} (Ctrl-C ends it)")
        if open_:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("Ended")
