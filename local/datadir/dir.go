package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// formatName and FormatVersion make the first line of the VERSION file: the kind of directory and
// the version of its contents. A newer version is refused. An older one is read, and marked as this
// version before anything is written, so that the older program refuses it from then on. Raise the
// number when the previous program could not read what this one writes;
// docs/decisions/0140-versions.md lists the changes of each version.
const (
	formatName    = "crawlnode-data"
	FormatVersion = 4
)

// Dir is a data directory that this process has locked. Any goroutine may call its methods.
type Dir struct {
	path string
	lock *os.File
	made []string // the directories that Open made, the innermost first; none: it was there
	// found are the entries of a directory that was there and held no data; nil: it held some.
	found map[string]bool
}

// Path is the directory's path.
func (d *Dir) Path() string { return d.path }

// Join is the path of an entry.
func (d *Dir) Join(name string) string { return filepath.Join(d.path, name) }

// Open creates or recognises the directory, and locks it. All its errors are storage errors that
// name the directory and the remedy.
func Open(path string) (*Dir, error) {
	d := &Dir{path: path, made: missing(path)}
	err := d.open()
	if err == nil {
		return d, nil
	}
	d.removeMade()
	if d.lock != nil {
		_ = d.lock.Close()
	}
	return nil, err
}

// missing are the directories of a path that do not exist, the innermost first.
func missing(path string) []string {
	var dirs []string
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			return dirs
		}
		dirs = append(dirs, dir)
	}
}

func (d *Dir) open() error {
	path := d.path
	if err := os.MkdirAll(path, 0o755); err != nil {
		return Failed("make the data directory", err)
	}
	if err := checkVersion(path); err != nil {
		return err
	}
	if err := d.note(); err != nil {
		return err
	}
	lock, err := os.OpenFile(d.Join("lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return Failed("open the data directory's lock", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return &LockedError{path: path, pid: readLine(d.Join("pid"))}
		}
		return Failed("lock the data directory "+path, err)
	}
	if !stands(lock, d.Join("lock")) {
		lock.Close()
		return Failed("lock the data directory "+path, errors.New(
			"another start, which was refused, has just removed the lock: run the same command again"))
	}
	d.lock = lock
	if d.found["VERSION"] || d.Has("VERSION") {
		d.made, d.found = nil, nil // it holds data, or another process was here in between
	}
	return d.initialise()
}

// note remembers what stands in the directory before this process writes there.
func (d *Dir) note() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return Failed("read the data directory", err)
	}
	d.found = make(map[string]bool, len(entries))
	for _, e := range entries {
		d.found[e.Name()] = true
	}
	return nil
}

// stands reports whether path still is the open file.
func stands(open *os.File, path string) bool {
	a, err := open.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// checkVersion accepts an empty directory and one that this program can read.
func checkVersion(path string) error {
	line := readLine(filepath.Join(path, "VERSION"))
	if line == "" {
		if ours(path) {
			return damagedVersion(path, "is empty or missing")
		}
		return checkEmpty(path)
	}
	name, version, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(version)
	if name != formatName || err != nil {
		if ours(path) {
			return damagedVersion(path, fmt.Sprintf("contains %.60q", line))
		}
		return Failed("open "+path, fmt.Errorf("its VERSION file contains %.60q: "+
			"this is not a data directory of crawlnode; give another --data-dir", line))
	}
	if n > FormatVersion {
		return Failed("open "+path, fmt.Errorf("its data format is %d, this program reads up to %d: "+
			"start it with the newer crawlnode that wrote it", n, FormatVersion))
	}
	return nil
}

// ours reports whether a directory without a good VERSION file has what only this program writes.
func ours(path string) bool {
	for _, name := range []string{"membership.json", "frontier"} {
		if _, err := os.Lstat(filepath.Join(path, name)); err != nil {
			return false
		}
	}
	return true
}

// damagedVersion is the error of a directory of this program whose VERSION file is damaged.
func damagedVersion(path, what string) error {
	file := filepath.Join(path, "VERSION")
	return Failed("open "+path, fmt.Errorf(
		"its VERSION file %s, and the rest looks like a data directory of crawlnode: "+
			"put the file back from a backup, or, if this very release wrote the directory, "+
			"with the command echo %s %d > %s", what, formatName, FormatVersion, file))
}

// checkEmpty refuses a directory with foreign files. Files that an interrupted start leaves before
// VERSION is written are allowed, and so is a volume mounted for the archive, whatever it contains:
// no file there is ever replaced.
func checkEmpty(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return Failed("read the data directory", err)
	}
	for _, e := range entries {
		switch e.Name() {
		case "lock", "pid", "lost+found", "VERSION.tmp":
		case "warc":
			if e.IsDir() {
				continue
			}
			fallthrough
		default:
			return Failed("open "+path, fmt.Errorf("it contains %q and no VERSION file: "+
				"this is not a data directory of crawlnode; give an empty or another --data-dir", e.Name()))
		}
	}
	return nil
}

func (d *Dir) initialise() error {
	if text := fmt.Sprintf("%s %d", formatName, FormatVersion); readLine(d.Join("VERSION")) != text {
		if err := WriteSynced(d.Join("VERSION"), []byte(text+"\n")); err != nil {
			return Failed("write VERSION", err)
		}
	}
	if err := os.WriteFile(d.Join("pid"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		return Failed("write the pid file", err)
	}
	return nil
}

// Close removes the pid file and frees the lock.
func (d *Dir) Close() {
	_ = os.Remove(d.Join("pid"))
	_ = d.lock.Close()
}

// Abandon is Close for a start that was refused: what Open and the start have made is removed
// again, so that a directory without data is as it was. Nothing in it was promised to anybody.
func (d *Dir) Abandon() {
	d.removeMade()
	d.Close()
}

// removeMade removes the directories that Open made: path with all that is in it if this process
// holds its lock, the others if they are empty. Of a directory that was there without data it
// removes what has come since, the lock last.
func (d *Dir) removeMade() {
	for _, dir := range d.made {
		if dir == filepath.Clean(d.path) && d.lock != nil {
			_ = os.RemoveAll(dir) // what stays does no harm: the next start takes it over
		} else {
			_ = os.Remove(dir)
		}
	}
	if len(d.made) > 0 || d.found == nil || d.lock == nil {
		return
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return // as above
	}
	for _, e := range entries {
		if name := e.Name(); !d.found[name] && name != "lock" {
			_ = os.RemoveAll(d.Join(name))
		}
	}
	if !d.found["lock"] {
		_ = os.Remove(d.Join("lock"))
	}
}

// Begun reports whether a node has stored something in it.
func (d *Dir) Begun() bool { return d.Has("frontier") }

// Has reports whether an entry of this name exists.
func (d *Dir) Has(name string) bool {
	_, err := os.Lstat(d.Join(name))
	return err == nil
}
