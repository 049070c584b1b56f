"""Survey archives: fetched from the surveys' servers, matched with catalogues."""
