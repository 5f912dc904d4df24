// Package hints stores the mutations that a replica misses while it does not answer, so that it can
// catch up without a copy of the whole partition. Cassandra calls this hinted handoff.
//
// Nothing is kept while all replicas answer. When the links to a replica are given up, the
// mutations that it has not acknowledged go into the Log, and so does every later mutation of
// those partitions. The next link to that replica reads them from here and sends them (package
// replication).
//
// The hints of a partition are a series: the history of the copy on this node's disk, without a
// gap, since the first replica fell behind. The sinks of the store feed it while this node holds
// the partition, and the streams of the holder while another one does. machine.Series has the rule
// which copies it continues, and decision 0356 why.
//
// Hints are an optimisation. They may be lost at any moment, with a process that is killed before
// it has written them, for lack of disk space or by age; then the replica gets a whole copy. An
// error of the disk drops them all.
//
// # Restarts
//
// A Log leaves its files. Load takes up those series that end exactly where the copy in the store
// does: what a killed process had committed and not written ends its series, and what a disk has
// lost is cut off them.
//
// # Files
//
//	log.go    the Log: what is kept, written, read and dropped
//	files.go  the format of the files
//	load.go   the files of an earlier process
//
// # Goroutines and queues
//
// Run is the one goroutine that writes and deletes files. The other methods use a mutex that is
// never held during I/O, but by Load; Read also reads from the disk, without the mutex.
//
//	queue            filled by        emptied by       bound                     when full
//	hints in memory  links, streams   Run              64 MiB                    its series ends
//	hints on disk    Run              caught up, age   16 GiB, 1/8 of the disk   oldest file deleted
//	index in memory  Run              caught up, age   500,000 spans, 28 MB      oldest file deleted
package hints
