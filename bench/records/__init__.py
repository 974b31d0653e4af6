"""A history of many records: how long its questions take."""
