// Package follow reads the lines that package lists writes, in order, while they are being
// written.
//
// A Reader reads the files of one output, oldest first: finished files, then the members of the
// open file that are on the disk, and then the tail. A Cursor is a position in them. It stays valid
// after a crash of the node and the repair of its files: the lines after a position are the same,
// whether they are in the tail, or in the members that a checkpoint or a repair has made of it (see
// package lists).
//
// The reader takes no lock and may run beside the writer, in the same process or in another. If the
// tail was restarted while it was being read, it is read again. The reader holds one member in
// memory, about 1 MiB. It skips files that were removed. One goroutine uses a Reader.
package follow
