package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dataFormat is the first line of the VERSION file: what the directory is and
// the version of all that lies in it. A newer one is refused, never guessed at; an
// older one is read, and marked as this version before anything is written, so
// that the older program refuses it from then on. Raise the number when the
// program before could not read what this one writes; docs/decisions/0140-versions.md
// lists what each brought.
const (
	dataFormatName    = "crawlnode-data"
	dataFormatVersion = 3
)

// The data directory:
//
//	VERSION          "crawlnode-data 3"
//	lock             held with flock while a process uses the directory
//	pid              of that process, for people and scripts
//	addresses.json   the addresses that were bound last, tried first next time
//	membership.json  identity, boot, views and ballots (package membership)
//	crawl.json       the crawl document: settings, state, limits
//	keys/            a new cluster key, and how far its rotation is; for the owner alone
//	scope/           scope entries, in one log for each node that added some (store/scopeset)
//	frontier/        Badger: records, queues, host states, outbox
//	bloom/           filter snapshots of a clean stop
//	warc/            the archive
type dataDir struct {
	path string
	lock *os.File
}

func (d *dataDir) join(name string) string { return filepath.Join(d.path, name) }

// openDataDir makes the directory or recognises it, and locks it. All its
// errors are storage errors that name the directory and the fix.
func openDataDir(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, storageError("make the data directory", err)
	}
	if err := checkVersion(path); err != nil {
		return nil, err
	}
	d := &dataDir{path: path}
	lock, err := os.OpenFile(d.join("lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, storageError("open the data directory's lock", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &lockedError{path: path, pid: readLine(d.join("pid"))}
		}
		return nil, storageError("lock the data directory "+path, err)
	}
	d.lock = lock
	if err := d.initialise(); err != nil {
		lock.Close()
		return nil, err
	}
	return d, nil
}

// checkVersion accepts an empty directory and one that this program can read.
func checkVersion(path string) error {
	line := readLine(filepath.Join(path, "VERSION"))
	if line == "" {
		return checkEmpty(path)
	}
	name, version, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(version)
	if name != dataFormatName || err != nil {
		return storageError("open "+path, fmt.Errorf("its VERSION file says %.60q: this is not a data directory of crawlnode; give another --data-dir", line))
	}
	if n > dataFormatVersion {
		return storageError("open "+path, fmt.Errorf("its data format is %d, this program reads up to %d: start it with the newer crawlnode that wrote it", n, dataFormatVersion))
	}
	return nil
}

// checkEmpty refuses a directory with somebody else's files. What a start that
// was cut off before VERSION was written can leave is no obstacle, nor is a volume
// mounted for the archive, whatever lies on it: no file there is ever replaced.
func checkEmpty(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return storageError("read the data directory", err)
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
			return storageError("open "+path, fmt.Errorf("it holds %q and no VERSION file: this is not a data directory of crawlnode; give an empty or another --data-dir", e.Name()))
		}
	}
	return nil
}

func (d *dataDir) initialise() error {
	if text := fmt.Sprintf("%s %d", dataFormatName, dataFormatVersion); readLine(d.join("VERSION")) != text {
		if err := writeFileSynced(d.join("VERSION"), []byte(text+"\n")); err != nil {
			return storageError("write VERSION", err)
		}
	}
	if err := os.WriteFile(d.join("pid"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		return storageError("write the pid file", err)
	}
	return nil
}

// Close removes the pid file and frees the lock.
func (d *dataDir) Close() {
	_ = os.Remove(d.join("pid"))
	_ = d.lock.Close()
}

// addresses are what a node listened on.
type addresses struct {
	HTTP   string `json:"http"`
	Gossip string `json:"gossip"`
	RPC    string `json:"rpc"`
	// Asked holds the flags' addresses: others invalidate the memory.
	Asked string `json:"asked"`
}

func (d *dataDir) loadAddresses() (a addresses, ok bool) {
	b, err := os.ReadFile(d.join("addresses.json"))
	if err != nil {
		return a, false
	}
	return a, json.Unmarshal(b, &a) == nil
}

func (d *dataDir) saveAddresses(a addresses) error {
	b, err := json.Marshal(a)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return writeFileSynced(d.join("addresses.json"), append(b, '\n'))
}

// readLine returns the first line of a small file, "" when there is none.
func readLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}

// writeFileSynced replaces a file: after a crash it holds the old or the new
// content, whole.
func writeFileSynced(path string, content []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename or a new file durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// freeBytes is the free space of the volume that holds path.
func freeBytes(path string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// has reports whether there is an entry of this name.
func (d *dataDir) has(name string) bool {
	_, err := os.Lstat(d.join(name))
	return err == nil
}
