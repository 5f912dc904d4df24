package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// PlaceOf is where a file that is written under another name first gets its own: path, or what a
// symbolic link there leads to. What is there and is no regular file, such as a device, would be
// replaced by a file: that is an error. So is a folder that is not there.
func PlaceOf(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return inFolder(path)
	case err != nil:
		return "", err
	case info.IsDir():
		return "", fmt.Errorf("%s is a folder: name a file in it", path)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf(
			"%s is a device or a pipe, and would be replaced by a file: name a new file", path)
	}
	return filepath.EvalSymlinks(path)
}

// inFolder is path, of a file that is to be made, when its folder is there.
func inFolder(path string) (string, error) {
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf(
			"%s cannot be written: the folder %s does not exist: make it first, or name a file elsewhere",
			path, folder)
	}
	return path, nil // what else is wrong with it shows when the file is made
}

// Unwritable is an error of making the file of another name that becomes path: it names path, and
// what can be done.
func Unwritable(path string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s cannot be written: %w: give a folder that this user may write to", path,
			err)
	}
	return fmt.Errorf("%s cannot be written: %w", path, err)
}
