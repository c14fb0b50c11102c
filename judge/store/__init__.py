"""The verdict store: the only package with SQL.

    store         the verdicts, the ledger of calls, and the leases of keys
    window        the leases that a run holds at a time, and the lease of one pair
    leases        the lock files by which a lease ends with its process
    batches       the keys that are in batches at a provider
    writer        the thread that commits many small writes together
    schema        the tables, the upgrade of older files, and calls as rows
    store_files   copies, merges and backups of whole stores

A store from another person is untrusted input.
"""
