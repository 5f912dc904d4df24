package node

import (
	"fmt"
	"io"
	"os"

	"crawlnode/web/wall"
)

// openWalls reads the file of --wall-marks; nil: none was named.
func openWalls(path string) (*wall.Table, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, usageError(fmt.Errorf("--wall-marks: read the marks of bot walls: %w", err))
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, wall.MaxMarksFile+1))
	if err != nil {
		return nil, usageError(fmt.Errorf("--wall-marks: read the marks of bot walls: %w", err))
	}
	marks, err := wall.ParseMarks(text)
	if err != nil {
		return nil, usageError(fmt.Errorf("--wall-marks: %s: %w; docs/operations.md describes the file",
			path, err))
	}
	return marks, nil
}
