package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"crawlnode/local/files"
)

// logBlocks gives the logs of the store's tables in memory (*.mem) their blocks when they
// are made. The logs are sparse and mapped, so that a write for which the disk has no block
// kills the process: between a look at the free space and the write another program can
// fill the disk. Where blocks cannot be had in advance the look is all there is.
//
// A quota is not seen by that look. What tells of it is that the blocks of a log are refused
// though there is free space; then there is no room until they are had.
//
// It belongs to the store's one writer. Tables of the store itself are mapped, too, and
// still rest on the look alone: Badger makes and fills them in one go.
type logBlocks struct {
	dir  string
	size int64 // that a log may grow to
	next int   // number of the log that Badger makes next
	// refused says that there was no room for the blocks of the newest log although there is free space.
	refused bool
	take    func(dir string, log *os.File, size int64) error // takeBlocks
}

// logBytes is what the log of a table in memory may grow to: Badger begins a new one when
// it has reached the table's size, and a transaction holds 15 % of that.
func logBytes(memTable int64) int64 { return memTable + memTable/4 }

// openLogBlocks sets blocks aside for the log that a store which was just opened writes to.
func openLogBlocks(files *fileSync, memTable int64, s *space) (*logBlocks, error) {
	l := &logBlocks{dir: files.dir, size: logBytes(memTable), take: takeBlocks}
	names, err := files.names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if number, err := strconv.Atoi(strings.TrimSuffix(name, ".mem")); err == nil && filepath.Ext(name) == ".mem" {
			l.next = max(l.next, number)
		}
	}
	l.follow(s)
	return l, nil
}

// follow sets blocks aside for a log that has appeared since. When there is little space
// it is tried again after the next write.
func (l *logBlocks) follow(s *space) {
	file, err := os.OpenFile(filepath.Join(l.dir, fmt.Sprintf("%05d.mem", l.next)), os.O_RDWR, 0)
	if err != nil {
		return // not yet made, which is the rule
	}
	defer file.Close()
	l.refused = false
	if free, err := s.free(l.dir); err != nil || free < l.size+ReserveBytes {
		return
	}
	err = l.take(l.dir, file, l.size)
	if l.refused = files.NoRoom(err); err == nil {
		l.next++
	}
}

// takeBlocks sets blocks aside for a log. Then there must be as much space again as the look at
// the free space asks for, since the log before it becomes a table now.
func takeBlocks(dir string, log *os.File, size int64) error {
	if err := SetAside(log, size); err != nil {
		return err
	}
	return tryBlocks(dir, ReserveBytes)
}

// room is nil unless a quota refuses the newest log its blocks: they are asked for again.
func (l *logBlocks) room(s *space) error {
	if l.refused {
		l.follow(s)
	}
	if l.refused {
		return fmt.Errorf("%w: %s takes no more, though the system tells of free space: a quota", ErrNoSpace, l.dir)
	}
	return nil
}

// dropUnmadeLogs removes logs of no length: Badger was killed after it had made the file
// and before that had a size, or power was lost. Nothing is in them, and Badger refuses a
// store that has one.
func dropUnmadeLogs(files *fileSync) error {
	names, err := files.names()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if filepath.Ext(name) != ".mem" {
			continue
		}
		path := filepath.Join(files.dir, name)
		info, statErr := os.Stat(path)
		if err = errors.Join(err, statErr); statErr == nil && info.Size() == 0 {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}
