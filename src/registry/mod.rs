//! Which crawls are in this data directory? Create, open, list, delete; the shared host calendar.
