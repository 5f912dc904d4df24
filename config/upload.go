package config

import (
	"errors"
	"fmt"

	"crawlnode/output/upload/s3"
)

// UploadTarget is where finished files are copied; ok is false when they are not.
func (c *Config) UploadTarget() (t s3.Target, keep s3.Keep, ok bool, err error) {
	keep, keepErr := s3.ParseKeep(c.KeepLocal, func(text string) (int64, error) {
		var s Size
		err := s.UnmarshalText([]byte(text))
		return int64(s), err
	})
	if keepErr != nil {
		keepErr = fmt.Errorf("--keep-local: %w", keepErr)
	}
	if c.Upload == "" {
		if c.UploadEndpoint != "" {
			keepErr = errors.Join(keepErr,
				errors.New("--upload-endpoint: needs --upload s3://BUCKET/PREFIX, which says where files go"))
		}
		if keepErr == nil && !keep.All {
			keepErr = errors.New(
				"--keep-local: only what a store has may be removed: give --upload s3://BUCKET/PREFIX as well")
		}
		return t, keep, false, keepErr
	}
	t, err = s3.ParseTarget(c.Upload, c.UploadEndpoint)
	if err != nil {
		err = fmt.Errorf("--upload: %w", err)
	}
	return t, keep, true, errors.Join(err, keepErr)
}

func (c *Config) validateUpload() error {
	_, _, _, err := c.UploadTarget()
	return err
}
