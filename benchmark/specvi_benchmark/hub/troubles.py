"""The errors by which huggingface_hub tells that the Hub refuses, or can't be reached."""


def hub_troubles() -> tuple[type[BaseException], ...]:
    """Return what to catch around calls of the Hub.

    A lost connection is an error of the HTTP library that huggingface_hub happens to use: its own errors derive from
    that library's, whichever it is. Uploads by Xet raise RuntimeError.
    """
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415 -- slow to import

    return (*HfHubHTTPError.__bases__, OSError, RuntimeError, ValueError)
