// Package storage is the ordered key-value store under a frontier. It knows keys and
// values as bytes: no URL, no host, no partition.
//
// KV is the interface that a frontier needs. OpenBadger implements it on disk, NewMemory in
// memory for simulations, in which the process can crash, the machine can lose power, and the
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
// verifies the MANIFEST, the logs and the indexes of tables (verify.go, tablefile.go). It refuses
// a damaged table or MANIFEST and names the file. A log that lost entries is reported by Damage
// until NoteDamage. Damaged bytes that carry no information are rewritten (heads.go). Cuts says
// where logs were truncated.
//
// The blocks of tables are verified before something is read of them, and all of them in the
// background; until then no compaction takes effect (unverified.go). After a damage all calls fail
// with the name of the file, and the next OpenBadger verifies everything first and refuses the
// store. Verified waits for the result.
//
// A loss of power leaves files that look whole. The file MACHINE has the boot id of the
// machine at the last time the store was opened (powerloss.go), from which LostPower is computed.
//
// # A full disk
//
// Badger maps its files into memory: a write without a free block kills the process. Room returns
// an error while less than ReserveBytes are free; the caller must not call Write then.
// WriteReserved still accepts entries of the node's own range (OwnRange), and writes them into the
// file RESERVE, whose blocks were allocated when there was space (reserve.go). The blocks of logs
// are allocated when the logs are created (logblocks.go); when a quota refuses them, Room says that
// there is no space. Touch writes to the disk with an ordinary call, which can fail without killing
// the process.
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
//	compaction     Compact, one       by itself; Close waits for it for a second, and otherwise
//	                                  leaves the store as a kill would
//	verification   OpenBadger, one    when all tables are verified or one is damaged, or in Close,
//	                                  which waits for it
//	close          Close              by itself; Close waits for five seconds
//	Badger's own   OpenBadger         in Close
//
// Write, WriteReserved and Touch may be called from one goroutine at a time; everything else from
// any. There is no queue.
package storage
