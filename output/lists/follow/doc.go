// Package follow reads the lines that package derived writes, in their order, while they are written.
//
// A Reader goes through the files of one output, oldest first: finished files, the members of the open file
// that are on the disk, and then the tail. A Cursor says how far it is, and stays valid over a crash of the
// node and the repair of its files: lines since a place of the file are the same lines, whether they stand in
// the tail, or in the members that a checkpoint or a repair has made of them (see package derived).
//
// The reader takes no lock and may run beside the writer, in the same process or in another. A tail that was
// begun anew while it was read is read again. It holds one member in memory, about 1 MiB. A file that
// was removed is passed over. One goroutine uses a Reader.
package follow
