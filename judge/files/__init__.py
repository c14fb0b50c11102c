"""Files that judge writes and reads for itself.

filesystem                 read, write and lock files of the system
cache                      derived data, cached beside the verdict store
stored_records             lines in a temporary file, and sequences that are read from the disk each time
json_text                  JSON on one line, and hashes of it
judgment_log               the judgments of a run while it judges
"""
