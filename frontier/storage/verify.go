package storage

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
	"golang.org/x/sync/errgroup"
)

// Badger opens damaged files without an error and then reads less: a block whose
// checksum is wrong looks like the end of its table, to a look-up and to the
// compaction that rewrites it; a MANIFEST is cut at a record that is too short,
// and the tables behind it are deleted; a log is cut at its first bad entry. So
// MANIFEST, logs and the indexes of tables are judged before it may touch them,
// and the blocks of tables before anything is read of them (unverified.go).
//
// It cannot be known what a damaged table or MANIFEST has lost: the store is not
// opened. A loss of power often cuts the log in use, and the high-water file
// shows what is missing then. An older log was whole when the next one was
// begun. What a damaged one has lost may concern any partition, so all of
// them become suspect.

// damaged is the ErrDamaged of a file; err says what is wrong with it.
func damaged(path string, err error) error {
	return fmt.Errorf("the file %s %w: %w", path, ErrDamaged, err)
}

// unreadable is the error of a file that cannot be read: a damage, because it is not there or the
// disk has lost it, unless this process may not read files, or has too many of them, now.
func unreadable(path string, err error) error {
	for _, now := range []error{fs.ErrPermission, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, now) {
			return err
		}
	}
	if errors.Is(err, ErrDamaged) {
		return err
	}
	return damaged(path, err)
}

// castagnoli is the table of the store's checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// verifyStore reads all files in opt.Dir. Its error names the file that makes the store
// unusable. damage names the logs that have lost entries.
func verifyStore(opt badger.Options) (damage string, err error) {
	tables, err := verifyManifest(opt)
	if err != nil {
		return "", err
	}
	err = eachTable(opt, tables, func(t *tableFile) error { return t.verify(0, t.blocks()) })
	if err != nil {
		return "", err
	}
	_, damage, err = damagedLogs(opt.Dir)
	return damage, err
}

// verifyManifest reads the MANIFEST, which lists the tables.
func verifyManifest(opt badger.Options) (tables map[uint64]badger.TableManifest, err error) {
	path := filepath.Join(opt.Dir, badger.ManifestFilename)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, manifestMissing(opt.Dir)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	m, end, err := badger.ReplayManifestFile(file, opt.ExternalMagicVersion, opt)
	if err != nil {
		if what, _, more := strings.Cut(err.Error(), "\n"); more { // advice for users of Badger
			err = errors.New(what)
		}
		return nil, damaged(path, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	tail := make([]byte, info.Size()-end)
	if _, err := file.ReadAt(tail, end); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !tornRecord(tail) {
		return nil, damaged(path, fmt.Errorf("the record at byte %d says a false length", end))
	}
	return m.Tables, nil
}

// manifestMissing says whether a folder without a MANIFEST had a store.
func manifestMissing(dir string) error {
	for _, kind := range []string{".sst", ".mem"} {
		found, err := filesOfKind(dir, kind)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return damaged(filepath.Join(dir, badger.ManifestFilename), fmt.Errorf("it is missing beside %d other files", len(found)))
		}
	}
	return nil
}

// filesOfKind are the paths of the files with that extension in a folder, sorted; none if there is
// no folder. filepath.Glob would take the folder's name for a pattern.
func filesOfKind(dir, ext string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ext {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return paths, err
}

// tornRecord reports whether the end of a MANIFEST is the beginning of a record
// whose writing was cut off: so it is unless, with one bit of its length
// flipped, it is a whole record.
func tornRecord(tail []byte) bool {
	const head = 8 // length and checksum, big endian
	if len(tail) < head {
		return true
	}
	length, sum := binary.BigEndian.Uint32(tail), binary.BigEndian.Uint32(tail[4:])
	for bit := range 32 {
		n := uint64(length ^ 1<<bit)
		if n <= uint64(len(tail)-head) && crc32.Checksum(tail[head:head+n], castagnoli) == sum {
			return false
		}
	}
	return true
}

// verifyTablesAtOnce bounds how many tables are read at a time.
const verifyTablesAtOnce = 2

// eachTable calls fn with each table of a MANIFEST.
func eachTable(
	opt badger.Options, tables map[uint64]badger.TableManifest, fn func(*tableFile) error,
) error {
	var g errgroup.Group
	g.SetLimit(verifyTablesAtOnce)
	for id, m := range tables {
		g.Go(func() error {
			path := table.NewFilename(id, opt.Dir)
			t, err := openTableFile(path, m.Compression)
			if err == nil {
				err = fn(t)
			}
			return err
		})
	}
	return g.Wait()
}

// damagedLogs names those logs of tables in memory, save the newest, that do
// not end where their writer stopped; cuts names the newest too. A log that
// would make Badger ask for more memory than there may be is an error.
func damagedLogs(dir string) (cuts []string, damage string, err error) {
	logs, err := filesOfKind(dir, ".mem") // Badger's numbers have five digits
	if err != nil {
		return nil, "", err
	}
	var bad []string
	for i, path := range logs {
		end, at, err := endOfLog(path)
		switch {
		case err != nil:
			return nil, "", err
		case end == logAbsurd:
			return nil, "", damaged(path, fmt.Errorf("the entry at byte %d says that it is larger than the file", at))
		case end != logCut:
			continue
		case i < len(logs)-1:
			bad = append(bad, filepath.Base(path))
		}
		cuts = append(cuts, fmt.Sprintf("%s at byte %d", path, at))
	}
	return cuts, strings.Join(bad, ", "), nil
}

// endOfLog says how a log ends, and where its whole entries do.
func endOfLog(path string) (how logEnd, at int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return 0, 0, err
	}
	at = logHead
	how, err = walkLog(bufio.NewReaderSize(file, 1<<18), info.Size(), func(_ byte, end int64) { at = end })
	return how, at, err
}

// Badger's log: a head of 20 bytes, then entries
//
//	meta (1) user meta (1) uvarint key length, value length, expiry
//	key, value, CRC-32C of all before (4, big endian)
//
// and zero bytes to the end of the file.
const (
	logHead      = 20
	logEntryHead = 22 // at the most
	logMaxKey    = 1 << 16
)

// logEnd is how a log ends.
type logEnd int

const (
	logWhole  logEnd = iota // whole entries, then zero bytes
	logCut                  // something else behind the whole entries
	logAbsurd               // an entry that cannot be in a file of this size
)

// scanLog walks the entries of a log of the given size.
func scanLog(in io.Reader, size int64) (logEnd, error) {
	return walkLog(bufio.NewReaderSize(in, 1<<18), size, func(byte, int64) {})
}

// logInTxn is set in the first byte of each entry of a transaction but the last.
const logInTxn byte = 1 << 6

// walkLog calls fn with the first byte of each whole entry of a log, and with where it ends.
func walkLog(r *bufio.Reader, size int64, fn func(meta byte, end int64)) (logEnd, error) {
	if _, err := r.Discard(logHead); err != nil {
		return logWhole, ignoreEnd(err)
	}
	for end := int64(logHead); ; {
		head, err := r.Peek(logEntryHead)
		if err = ignoreEnd(err); err != nil {
			return logCut, err
		}
		headBytes, key, value, ok := logEntry(head)
		switch {
		case !ok:
			return restOfLog(r)
		case value > uint64(size):
			return logAbsurd, nil
		}
		meta, length := head[0], int64(headBytes)+int64(key)+int64(value)
		sum := crc32.New(castagnoli)
		if _, err := io.CopyN(sum, r, length); err != nil {
			return logCut, ignoreEnd(err)
		}
		var crc [4]byte
		if _, err := io.ReadFull(r, crc[:]); err != nil {
			return logCut, ignoreEnd(err)
		}
		if binary.BigEndian.Uint32(crc[:]) != sum.Sum32() {
			return logCut, nil
		}
		end += length + int64(len(crc))
		fn(meta, end)
	}
}

// logEntry reads the head of an entry: its length, and that of key and value.
// No entry has an empty key.
func logEntry(head []byte) (n int, key, value uint64, ok bool) {
	n = 2
	var lengths [3]uint64
	for i := range lengths {
		v, width := binary.Uvarint(head[min(n, len(head)):])
		if width <= 0 {
			return 0, 0, 0, false
		}
		lengths[i] = v
		n += width
	}
	key, value = lengths[0], lengths[1]
	return n, key, value, key > 0 && key <= logMaxKey
}

// restOfLog judges what is behind the entries.
func restOfLog(r io.Reader) (logEnd, error) {
	zeros, err := onlyZeros(r)
	if !zeros {
		return logCut, err
	}
	return logWhole, err
}

// onlyZeros reports whether nothing but zero bytes is left.
func onlyZeros(r io.Reader) (bool, error) {
	buf := make([]byte, 1<<16)
	for {
		n, err := r.Read(buf)
		if slices.ContainsFunc(buf[:n], func(b byte) bool { return b != 0 }) {
			return false, nil
		}
		if err != nil {
			return true, ignoreEnd(err)
		}
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
