package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"crawlnode/local/files"
)

// BadgerOptions sets up the disk store. The zero value is good for a node of
// 1 GiB.
type BadgerOptions struct {
	// Sync makes every Write survive a loss of power, at some 70 times the
	// cost. Without it a Write survives kill -9 at once, and a loss of power
	// from the next call of KV.Sync on.
	Sync bool
	// MemTableBytes is the size of a table in memory. There are up to three,
	// and a transaction may have 15 % of the size of one. 0 means 32 MiB. Less than
	// 16 MiB is too little for a robots.txt of 500 KiB beside a page's links.
	MemTableBytes int64
	// BlockCacheBytes and IndexCacheBytes bound the caches of table blocks and
	// indexes. 0 means 48 MiB and 24 MiB.
	BlockCacheBytes, IndexCacheBytes int64
	// BaseLevelBytes is the size of the level into which the newest tables go; each one below has ten times
	// as much. 0 means 128 MiB: with Badger's 10, each entry is written once more on its way down.
	BaseLevelBytes int64
	// ValueLogBytes is the size of a file of Badger's value log. 0 means 64 MiB. Values
	// stay in the tables, so one file is made, and stays empty.
	ValueLogBytes int64
	// FreeSpace says how many bytes are free on a folder's volume; nil: the file system is
	// asked.
	FreeSpace func(dir string) (int64, error)
	// Logger gets the store's warnings and errors; nil drops them.
	Logger *slog.Logger
}

// OpenBadger opens or makes the store in dir, which is locked against other
// processes until Close. It fails with the name of a file that is damaged. The
// blocks of tables are verified before they are read, and all in the background
// (unverified.go): when one is damaged, everything fails with the file's name
// from then on.
func OpenBadger(dir string, o BadgerOptions) (KV, error) {
	if o.FreeSpace == nil {
		o.FreeSpace = freeSpace
	}
	if err := mendHeads(dir, o.Logger); err != nil {
		return nil, fmt.Errorf("cannot open the store in %s: %w", dir, err)
	}
	opt := o.badger(dir)
	most := int(opt.IndexCacheSize / unverifiedBytes)
	return openBadger(opt, o.FreeSpace, most, func(f func()) { go f() })
}

// badger is what these options are to Badger.
func (o *BadgerOptions) badger(dir string) badger.Options {
	memTable := or(o.MemTableBytes, 32<<20)
	return badger.DefaultOptions(dir).
		WithSyncWrites(o.Sync).
		WithDetectConflicts(false). // there is one writer
		WithNumVersionsToKeep(1).
		WithMetricsEnabled(false).
		WithMemTableSize(memTable).
		WithValueThreshold(min(1<<20, memTable/16)). // the most that a small table allows
		WithNumMemtables(3).
		// A compaction holds a dozen tables in the making, uncompressed, and URLs
		// compress four times: with 2 MiB tables that was 400 MB of memory.
		WithBaseTableSize(1 << 20).
		WithBaseLevelSize(or(o.BaseLevelBytes, 128<<20)).
		WithNumCompactors(2).
		WithBlockCacheSize(or(o.BlockCacheBytes, 48<<20)).
		WithIndexCacheSize(or(o.IndexCacheBytes, 24<<20)).
		WithChecksumVerificationMode(options.OnBlockRead).
		WithValueLogFileSize(or(o.ValueLogBytes, 64<<20)). // values stay in the tables: it stays empty
		WithLogger(badgerLogger{o.Logger})
}

// openBadger opens a store, of whose tables at most so many blocks are verified later, by what
// background starts.
func openBadger(
	opt badger.Options, free func(dir string) (int64, error), most int, background func(func()),
) (KV, error) {
	b := &badgerKV{
		log: opt.Logger, files: newFileSync(opt.Dir), space: space{dir: opt.Dir, free: free},
		run: MachineRun(), synced: opt.SyncWrites, patience: closePatience,
	}
	err := dropUnmadeLogs(b.files)
	if err == nil {
		err = b.verify(opt, most)
	}
	if err == nil {
		b.lostPower, err = readBoot(opt.Dir, b.run)
	}
	if err == nil {
		b.tables.begin(background, b.lost, b.verified)
		opt.Logger = compactionGate{opt.Logger, b.tables}
		if b.db, err = badger.Open(opt); err != nil {
			err = b.space.explain(err)
			b.tables.abandon()
		}
	}
	if err == nil {
		b.logs, err = openLogBlocks(b.files, opt.MemTableSize, &b.space)
		if err == nil {
			err = b.openReserve()
		}
		if err != nil {
			if b.tables.finish() {
				err = errors.Join(err, b.closeInTime())
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the store in %s: %w", opt.Dir, err)
	}
	return b, nil
}

// openReserve opens the reserve and moves into the store what it has.
func (b *badgerKV) openReserve() (err error) {
	if b.reserve, err = openReserve(filepath.Join(b.files.dir, reserveFile), reserveSize); err != nil {
		return err
	}
	if len(b.reserve.kept) > 0 {
		if err = b.space.room(); err == nil {
			err = b.flushReserve()
		}
	}
	if err != nil {
		return errors.Join(err, b.reserve.close())
	}
	return nil
}

// damageFile, in the store's folder, names damaged logs. It is written before Badger cuts
// them, and removed once the frontier has noted the damage.
const damageFile = "DAMAGE"

func (b *badgerKV) verify(opt badger.Options, most int) error {
	path := filepath.Join(opt.Dir, damageFile)
	noted, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.damage = string(noted)
	if err := b.verifyTables(opt, most); err != nil {
		return err
	}
	cut, found, err := damagedLogs(opt.Dir)
	b.cuts = cut
	if err != nil || found == "" {
		return err
	}
	b.damage = strings.TrimPrefix(b.damage+", "+found, ", ")
	return WriteFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, b.damage)
		return err
	})
}

// verifyTables judges the MANIFEST and of the tables what Badger needs to open them, or all that
// is in them if they are mistrusted.
func (b *badgerKV) verifyTables(opt badger.Options, most int) error {
	tables, err := verifyManifest(opt)
	if err != nil {
		return err
	}
	mistrust, err := mistrusted(opt.Dir)
	if err != nil {
		return err
	}
	if !mistrust && len(tables) > 0 {
		// On a full disk there is no place for the note, and all is verified now.
		if err = noteMistrust(b.files); err != nil && !files.NoRoom(err) {
			return err
		}
	}
	if mistrust || err != nil {
		most = 0
	}
	if waits, err := opensAfterCompaction(opt); err != nil {
		return err
	} else if waits {
		most = 0
	}
	if b.tables, err = openUnverified(opt, tables, most); err != nil {
		return err
	}
	if len(b.tables.left()) == 0 {
		return endMistrust(opt.Dir)
	}
	return nil
}

// opensAfterCompaction reports whether Badger may wait for a compaction before it has opened the
// store: it begins with a table for each log, and there is a place for so many. A damage that is
// found meanwhile would keep it waiting for ever.
func opensAfterCompaction(opt badger.Options) (bool, error) {
	logs, err := filesOfKind(opt.Dir, ".mem")
	return len(logs) > opt.NumMemtables, err
}

// lost is called when a table is found to be damaged: nothing is read or written any more.
func (b *badgerKV) lost(damage error) {
	b.failed.Store(true)
	b.log.Errorf("nothing is read or written any more: %v", damage)
}

// verified is called when all tables are.
func (b *badgerKV) verified() {
	if err := endMistrust(b.files.dir); err != nil {
		b.log.Warningf("the next start verifies the whole store before it opens it: %v", err)
	}
}

// Verified returns when the tables that were there at the open are verified, or with the damage of
// one of them. It is not to be called when the store is closed.
func (b *badgerKV) Verified() error {
	<-b.tables.over
	return b.tables.damage()
}

// Damage implements damaged: it names the logs that have lost entries.
func (b *badgerKV) Damage() string { return b.damage }

// Cuts names the logs that did not end where their writer had stopped when the store was opened,
// and where each of them was cut. A kill may cut the newest, within an entry that was not
// acknowledged yet.
func (b *badgerKV) Cuts() []string { return b.cuts }

// NoteDamage implements damaged.
func (b *badgerKV) NoteDamage() error {
	b.damage = ""
	return os.Remove(filepath.Join(b.files.dir, damageFile))
}

func or(v, otherwise int64) int64 {
	if v > 0 {
		return v
	}
	return otherwise
}

type badgerKV struct {
	db        *badger.DB
	log       badger.Logger
	files     *fileSync
	tables    *unverified
	damage    string // not noted yet
	cuts      []string
	space     space
	reserve   *reserve
	logs      *logBlocks
	patience  time.Duration // closePatience
	failed    atomic.Bool   // a write or sync was; nothing is written any more
	run       string        // of the machine
	synced    bool          // each write is
	lostPower bool          // since the store was opened the last time
	compaction
}

func (b *badgerKV) Write(entries []Entry) error {
	if err := b.tables.damage(); err != nil {
		return err
	}
	err := b.reserve.touch()
	if err == nil && len(b.reserve.kept) > 0 {
		err = b.flushReserve()
	}
	if err == nil {
		err = b.commit(entries)
	}
	b.logs.follow(&b.space)
	if err != nil && !errors.Is(err, ErrTooBig) {
		b.failed.Store(true)
	}
	return err
}

// flushReserve moves into the store what was written while the disk was full.
func (b *badgerKV) flushReserve() error {
	for kept := range slices.Chunk(b.reserve.kept, 500) { // of some hundred bytes each, a few kilobytes at the most
		if err := b.commit(kept); err != nil {
			return err
		}
	}
	if err := b.Sync(); err != nil {
		return err
	}
	return b.reserve.clear()
}

// Room implements roomy.
func (b *badgerKV) Room() error {
	if err := b.space.room(); err != nil {
		return err
	}
	return b.logs.room(&b.space)
}

// Touch implements touchable.
func (b *badgerKV) Touch() error {
	err := b.reserve.touch()
	if err != nil {
		b.failed.Store(true)
	}
	return err
}

// WriteReserved implements roomy.
func (b *badgerKV) WriteReserved(entries []Entry) error {
	err := b.reserve.add(entries)
	if err != nil && !errors.Is(err, ErrNoSpace) {
		b.failed.Store(true)
	}
	return err
}

// commit is one transaction.
func (b *badgerKV) commit(entries []Entry) error {
	txn := b.db.NewTransaction(true)
	defer txn.Discard()
	sets := make([]badger.Entry, len(entries)) // one allocation for all
	for i, e := range entries {
		var err error
		if len(e.Value) == 0 {
			err = txn.Delete(e.Key)
		} else {
			sets[i].Key, sets[i].Value = e.Key, e.Value
			err = txn.SetEntry(&sets[i])
		}
		if errors.Is(err, badger.ErrTxnTooBig) {
			return fmt.Errorf("%w: %d entries: %w", ErrTooBig, len(entries), err)
		}
		if err != nil {
			return fmt.Errorf("frontier: transaction of %d entries: %w", len(entries), err)
		}
	}
	if err := b.commitTxn(txn); err != nil {
		return fmt.Errorf("frontier: commit of %d entries: %w", len(entries), err)
	}
	return nil
}

// commitTxn waits for a commit. Badger holds up commits while there are too many young tables, and
// no compaction makes them fewer before the tables are verified, or ever after a damage.
func (b *badgerKV) commitTxn(txn *badger.Txn) error {
	if b.tables.isWhole() {
		return txn.Commit()
	}
	done := make(chan error, 1)
	txn.CommitWith(func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-b.tables.lost:
		return b.tables.damage()
	}
}

func (b *badgerKV) Snapshot() (Snapshot, error) {
	if b.db.IsClosed() {
		return nil, ErrClosed
	}
	if err := b.tables.damage(); err != nil {
		return nil, err
	}
	s := badgerSnapshot{txn: b.db.NewTransaction(false)}
	if !b.tables.isWhole() {
		s.tables = b.tables
	}
	return s, nil
}

// Limits leaves a fifth of the transaction to Badger's own overheads, which
// are some 12 bytes an entry.
func (b *badgerKV) Limits() Limits {
	return Limits{Entries: int(b.db.MaxBatchCount()) * 4 / 5, Bytes: int(b.db.MaxBatchSize()) * 4 / 5}
}

// Sync holds up no Write and no reader.
func (b *badgerKV) Sync() error {
	if err := b.tables.damage(); err != nil {
		return err
	}
	if err := b.files.sync(); err != nil {
		b.failed.Store(true)
		return fmt.Errorf("frontier: sync of the store: %w", err)
	}
	return nil
}

// Close leaves a store alone that cannot be written to: Badger would write tables
// without end, or die in the attempt. What was acknowledged is in its logs and in the
// reserve, where the next start finds it as after a kill. It also leaves one alone that
// is being compacted: that cannot be ended, and takes as long as the store is large. And it leaves
// one alone whose tables are not verified in time: Badger would wait for a compaction.
func (b *badgerKV) Close() error {
	if b.failed.Load() {
		b.tables.abandon()
		return nil
	}
	err := b.files.sync() // before Badger begins what it may not end
	whole := b.tables.finish()
	if damage := b.tables.damage(); damage != nil {
		err = errors.Join(err, damage)
	} else if !whole {
		err = errors.Join(err, endMistrust(b.files.dir)) // the process does not die of a damage
	}
	if err == nil && whole && b.space.room() == nil && b.compaction.await(compactPatience) {
		if err = b.closeInTime(); err == nil {
			err = b.files.sync()
		}
	}
	if err := errors.Join(err, b.reserve.close()); err != nil {
		return fmt.Errorf("frontier: closing the store: %w", err)
	}
	if b.lostPower {
		return nil // the loss was not noted: the next start must see it too
	}
	if err := writeBoot(b.files, closedProperly); err != nil && !files.NoRoom(err) {
		return err
	}
	return nil // without space for the note the next start only treats the store as unsure
}

// closePatience is how long Badger may take to write the tables that it has in memory: some
// 100 MB at the most.
const closePatience = 5 * time.Second

// closeInTime closes Badger, or leaves it alone. On a disk that takes nothing new it tries
// to write its tables again and again for ever, and nothing can stop it. All that they hold
// is in the logs, and Badger removes a log only when a table has taken its place and is
// synced. So it may be left at any moment, as by a kill. It keeps its lock on the folder
// until it has ended or the process has: the store cannot be opened twice, and a node that
// leaves it is about to exit.
func (b *badgerKV) closeInTime() error {
	over := make(chan error, 1)
	go func() { over <- b.db.Close() }()
	select {
	case err := <-over:
		return err
	case <-time.After(b.patience):
		return fmt.Errorf("the disk has not taken the tables in memory within %v; the next start reads the logs instead", b.patience)
	}
}

type badgerSnapshot struct {
	txn    *badger.Txn
	tables *unverified // nil: all of them were verified when it was made
}

func (s badgerSnapshot) Get(key, buf []byte) ([]byte, bool, error) {
	if s.tables != nil {
		if err := s.tables.ensureKey(key); err != nil {
			return nil, false, err
		}
	}
	item, err := s.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("frontier: reading the store: %w", err)
	}
	v, err := item.ValueCopy(buf)
	if err != nil {
		return nil, false, fmt.Errorf("frontier: reading the store: %w", err)
	}
	return v, true, nil
}

// Iterate does not prefetch: values lie beside their keys in the tables, and
// Badger prefetches with one goroutine per key.
func (s badgerSnapshot) Iterate(prefix []byte) Iterator {
	if s.tables != nil {
		if err := s.tables.ensurePrefix(prefix); err != nil {
			return &failedIterator{err: err}
		}
	}
	it := s.txn.NewIterator(badger.IteratorOptions{Prefix: prefix})
	return &badgerIterator{it: it, prefix: prefix}
}

func (s badgerSnapshot) Close() { s.txn.Discard() }

type badgerIterator struct {
	it     *badger.Iterator
	prefix []byte
	buf    []byte
}

func (i *badgerIterator) Seek(key []byte) { i.it.Seek(key) }
func (i *badgerIterator) Valid() bool     { return i.it.ValidForPrefix(i.prefix) }
func (i *badgerIterator) Next()           { i.it.Next() }
func (i *badgerIterator) Key() []byte     { return i.it.Item().Key() }
func (i *badgerIterator) Close()          { i.it.Close() }

func (i *badgerIterator) Value() ([]byte, error) {
	v, err := i.it.Item().ValueCopy(i.buf)
	if err != nil {
		return nil, fmt.Errorf("frontier: reading the store: %w", err)
	}
	i.buf = v
	return v, nil
}

// badgerLogger forwards warnings and errors. Badger's info lines are for its developers and
// are logged at debug level.
type badgerLogger struct{ log *slog.Logger }

func (l badgerLogger) Errorf(f string, a ...any)   { l.emit(slog.LevelError, f, a) }
func (l badgerLogger) Warningf(f string, a ...any) { l.emit(slog.LevelWarn, f, a) }
func (l badgerLogger) Infof(f string, a ...any)    { l.emit(slog.LevelDebug, f, a) }
func (l badgerLogger) Debugf(string, ...any)       {}

func (l badgerLogger) emit(level slog.Level, f string, a []any) {
	if l.log != nil {
		l.log.Log(context.Background(), level, "store: "+strings.TrimSpace(fmt.Sprintf(f, a...)))
	}
}
