// Package storage is the ordered key-value store under a frontier. It knows keys and
// values as bytes: no URL, no host, no partition.
//
// KV is what a frontier needs of a store. OpenBadger makes one on disk, NewMemory one in
// memory for simulations, whose process can crash, whose machine can lose power, and whose
// disk can fill up, freeze or fail.
//
// # What survives what
//
// A Write that has returned survives kill -9. It survives a loss of power from the next
// Sync on. Sync goes to the files itself (filesync.go), so it holds up no Write.
//
// # Damage
//
// Badger opens damaged files without an error and then reads less. OpenBadger therefore
// reads the store once (verify.go). It refuses a damaged table or MANIFEST by the name of
// the file. A log that lost entries is reported by Damage until NoteDamage. Bytes that say
// nothing are made anew (heads.go). Cuts says where logs were cut.
//
// A loss of power leaves files that look whole. The file MACHINE names the run of the
// machine in which the store was opened last (powerloss.go), so LostPower can tell.
//
// # A full disk
//
// Badger maps its files: a write without a free block kills the process. Room says when
// less than ReserveBytes are free; no Write may follow then. WriteReserved still takes
// entries of the node's own range (OwnRange), into the file RESERVE, whose blocks were
// set aside when there was space (reserve.go). The logs get their blocks when they are
// made (logblocks.go); when a quota refuses them, Room says that there is no space. Touch tries the disk with an ordinary call, which can fail without
// killing the process.
//
// Badger keeps the space of deleted keys until it compacts; Compact starts that in the
// background (compact.go).
//
// # Without a process
//
// OpenReadOnly reads the store of a process that does not run, and changes nothing in its folder
// (readonly.go).
//
// # Goroutines
//
//	goroutine      started by         ends
//	compaction     Compact, one       by itself; Close waits for it for a second, then leaves the store as a kill would
//	close          Close              by itself; Close waits for five seconds
//	Badger's own   OpenBadger         in Close
//
// Write, WriteReserved and Touch are for one goroutine; everything else may be called from
// any. There is no queue.
package storage
