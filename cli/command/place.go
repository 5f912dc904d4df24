package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// PlaceOf is where a file that is written under another name first gets its own: path, or what a symbolic link
// there leads to. What is there and is no regular file, such as a device, would be replaced by a file: that is an error.
func PlaceOf(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", err
	case info.IsDir():
		return "", fmt.Errorf("%s is a folder: name a file in it", path)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is a device or a pipe, and would be replaced by a file: name a new file", path)
	}
	return filepath.EvalSymlinks(path)
}
