"""Transactions over several partitions: who may write, what belongs together, how it ends.

Pure; ``coordinator.py`` is the state machine that a ``Shard`` runs over one partition of
``__transaction_state``. The records are Kafka's own, so either broker reads the other's log.

**How a transaction ends here.** Kafka ends one in three steps: it writes PrepareCommit, sends a
marker to every partition, then writes CompleteCommit. It has to, because its partitions live on
several brokers. Our log appends to several partitions at once, all or nothing. So an end is *one*
decision with *one* record, Complete, and whoever appends it writes the markers in the same append.
There is no moment in which the outcome is decided but not carried out: nothing to finish after a
crash, nobody to send away with ConcurrentTransactions, and one write instead of three.

What has to be written along with a record follows from the record and the state before it:
``TransactionCoordinator.completions(records)`` tells. The port of the shard calls it in its
``append``, before anything is replayed, and adds the markers to the append. If that fails, nothing
has happened, and the transaction is as open as it was.

Prepare records are read, never written. A log that Kafka wrote may end with one: its outcome is
decided, markers may be missing. After loading, each is completed by the same kind of decision,
a Complete record with markers; until then its producer is told ConcurrentTransactions. A marker
that Kafka had written already is written again, which changes nothing for readers.
"""
