package files

import (
	"io"
	"os"
)

// File is a file that is only written.
type File interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// Opener opens a File as os.OpenFile does, readable for its owner and group. A simulation puts its
// disk there.
type Opener func(path string, flag int) (File, error)

// OpenFile is the Opener of real files.
func OpenFile(path string, flag int) (File, error) {
	f, err := os.OpenFile(path, flag, 0o640)
	if err != nil {
		return nil, err
	}
	return f, nil
}
