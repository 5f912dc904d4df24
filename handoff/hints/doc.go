// Package hints stores the mutations that a replica misses while it does not answer, so that it can
// catch up without a copy of the whole partition. Cassandra calls this hinted handoff.
//
// Nothing is kept while all replicas answer. When the links to a replica are given up, the
// mutations that it has not acknowledged go into the Log, and so does every later mutation of
// those partitions. The next link to that replica reads them from here and sends them (package
// replication).
//
// The hints of a partition are a series: it begins after the last mutation that the first replica
// to fall behind has acknowledged, has everything after that without a gap, and is of one tenure.
// Hints are an optimisation. They may be lost at any moment, with the process, for lack of disk
// space or by age; then the replica gets a whole copy. So the files are deleted at each
// start, and an error of the disk drops their contents.
//
// # Goroutines and queues
//
// Run is the one goroutine that writes and deletes files. The other methods use a mutex that is
// never held during I/O; Read also reads from the disk, without the mutex.
//
//	queue            filled by        emptied by        bound            when full
//	hints in memory  given-up links   Run               64 MiB, 200,000  its series ends
//	hints on disk    Run              caught up, age    256 MiB, 5 min   oldest file deleted
//
// Each record has its partition, epoch and sequence number. So the format could serve as a log that
// survives a restart, if records were written before they are acknowledged.
package hints
