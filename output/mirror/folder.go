package mirror

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"crawlnode/output/readback"
	"crawlnode/web/urlnorm"
)

const (
	// manifestName is the manifest's name in the folder.
	manifestName = "manifest.jsonl"
	// partFolder has the files that are not whole yet. Only its owner writes there; what a killed
	// run has left in it is deleted.
	partFolder = ".crawlnode-part"
)

// ErrRefused is in an error that says why a folder is not written to.
var ErrRefused = errors.New("refused")

// refusal is an ErrRefused with a text of its own.
type refusal string

func (r refusal) Error() string { return string(r) }

// Is makes it an ErrRefused.
func (refusal) Is(target error) bool { return target == ErrRefused }

// Folder is where the files are written. One process at a time has it open.
type Folder struct {
	dir   string
	root  *os.Root
	lock  *os.File // the folder itself
	parts int      // files made in partFolder
	ours  bool     // locked and checked

	// Same returns the URL that stands for another in the crawl (--normalize). Links to URLs that
	// were not saved lead to that one's file. Nil: each stands for itself. Set it before Write.
	Same func(urlnorm.URL) urlnorm.URL
	// MaxBody bounds what the payload of a file is unpacked to, in bytes; 0: MaxContent. Set it before
	// Write.
	MaxBody int64
	// Skip says of a URL that it gets no file; its content still counts for URLs with the same one.
	// said is what its owner said of the use of the page, as archive.Entry has it. Nil: each gets one.
	// Set it before Write.
	Skip func(url, said string) bool
	// Form writes pages in another form, and nothing else. Nil: each URL's file is its content. Set it
	// before Write.
	Form *Form
}

// Form is another form of pages.
type Form struct {
	// Media is the media type of the files, and gives them their extension.
	Media string
	// Content makes the file of a page; cut says that it is only the beginning. An ErrNoForm: the URL
	// gets none.
	Content func(p *readback.Page) (file []byte, cut bool, err error)
}

// ErrNoForm says that a capture is no page.
var ErrNoForm = errors.New("it is no page")

// Open opens dir, which is made when it is missing, and marks it by a manifest. The error is an
// ErrRefused when dir has files that are not of this package, is written to by another process, or
// is inside one of dataDirs or around it.
func Open(dir string, dataDirs ...string) (*Folder, error) {
	for _, data := range dataDirs {
		if err := apart(dir, data); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		if errors.Is(err, unix.ENOTDIR) {
			return nil, refusal(dir + " is no folder: give another name")
		}
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{dir: dir, root: root}
	if err := f.open(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// open locks the folder, checks that it is ours and makes it so.
func (f *Folder) open() (err error) {
	if f.lock, err = f.root.Open("."); err != nil {
		return err
	}
	switch err := unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return refusal(f.dir + " is written to by another process: wait for it, or give another folder")
	case err != nil && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.ENOLCK):
		// some network file systems have no locks
		return fmt.Errorf("lock %s: %w", f.dir, err)
	}
	if err := f.checkOurs(); err != nil {
		return err
	}
	f.ours = true
	if err := f.root.RemoveAll(partFolder); err != nil {
		return err
	}
	if err := f.root.Mkdir(partFolder, 0o755); err != nil {
		return err
	}
	m, err := f.root.OpenFile(manifestName, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return m.Close()
}

// checkOurs refuses a folder with files but without a manifest.
func (f *Folder) checkOurs() error {
	info, err := f.root.Lstat(manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		names, err := f.lock.Readdirnames(2)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for _, name := range names {
			if name != partFolder {
				return refusal(fmt.Sprintf("%s is not empty, and not made by this command: "+
					"it has %q and no %s; give an empty or a new folder", f.dir, name, manifestName))
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || !f.isManifest() {
		return refusal(fmt.Sprintf(
			"%s has a %s that was not made by this command; give an empty or a new folder", f.dir,
			manifestName))
	}
	return nil
}

// isManifest reports whether the manifest is empty or begins with a line of ours.
func (f *Folder) isManifest() bool {
	m, err := f.root.Open(manifestName)
	if err != nil {
		return false
	}
	defer func() { _ = m.Close() }()
	ours := true
	_ = eachLine(m, func(_ int64, line []byte) error {
		var l Line
		ours = json.Unmarshal(line, &l) == nil && l.URL != "" && l.FetchedAt != ""
		return io.EOF // one is enough
	})
	return ours
}

// apart refuses folders of which one is inside the other.
func apart(dir, data string) error {
	a, err := resolve(dir)
	if err != nil {
		return err
	}
	b, err := resolve(data)
	if err != nil {
		return err
	}
	switch {
	case a == b || within(a, b):
		return refusal(fmt.Sprintf("%s is inside the data directory %s: give a folder outside of it", dir,
			data))
	case within(b, a):
		return refusal(fmt.Sprintf("%s has the data directory %s in it: give a folder of its own", dir,
			data))
	}
	return nil
}

func within(inner, outer string) bool {
	return strings.HasPrefix(inner,
		strings.TrimSuffix(outer, string(filepath.Separator))+string(filepath.Separator))
}

// resolve makes a path absolute and follows the symbolic links in the part of it that exists.
func resolve(p string) (string, error) {
	p, err := filepath.Abs(p)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		parent := filepath.Dir(p)
		if parent == p || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
			return "", err
		}
		p, rest = parent, filepath.Join(filepath.Base(p), rest)
	}
}

// Dir is the folder's path, as it was given.
func (f *Folder) Dir() string { return f.dir }

// Close lets the folder go.
func (f *Folder) Close() error {
	var errs []error
	if f.ours {
		errs = append(errs, f.root.RemoveAll(partFolder))
	}
	if f.lock != nil {
		errs = append(errs, f.lock.Close())
	}
	return errors.Join(append(errs, f.root.Close())...)
}

// part makes a file in partFolder.
func (f *Folder) part() (*os.File, string, error) {
	f.parts++
	name := partFolder + "/" + strconv.Itoa(f.parts)
	file, err := f.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	return file, name, err
}

// nameless makes a file that disappears when it is closed, also by a crash.
func (f *Folder) nameless() (*os.File, error) {
	file, name, err := f.part()
	if err != nil {
		return nil, err
	}
	if err := f.root.Remove(name); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// store writes a file whole, or not at all.
func (f *Folder) store(path string, content []byte) error {
	part, name, err := f.part()
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	if err = errors.Join(err, part.Close()); err == nil {
		err = f.rename(name, path)
	}
	if err != nil {
		return errors.Join(err, f.root.Remove(name))
	}
	return nil
}

// rename gives a file its place, and makes the folders above it.
func (f *Folder) rename(name, path string) error {
	if at := strings.LastIndexByte(path, '/'); at > 0 {
		if err := f.root.MkdirAll(path[:at], 0o755); err != nil {
			return err
		}
	}
	return f.root.Rename(name, path)
}
