package upload

import "time"

// Failure is a file that the store does not take.
type Failure struct {
	File  string
	Since time.Time // of the first attempt that failed
	Err   error     // of the last one
}

// failures are the files whose last attempt failed. One of them does not say that the store is
// away: others may be taken. So after a file that was taken, each of the rest must fail once more
// before it counts.
type failures struct {
	files map[string]Failure
	doubt map[string]bool // something was sent after their last attempt
}

func newFailures() failures {
	return failures{files: map[string]Failure{}, doubt: map[string]bool{}}
}

// failed notes an attempt.
func (f *failures) failed(file string, now time.Time, err error) {
	one, again := f.files[file]
	if !again {
		one = Failure{File: file, Since: now}
	}
	one.Err = err
	f.files[file] = one
	delete(f.doubt, file)
}

// sent notes a file that the store has, or that is gone.
func (f *failures) sent(file string) {
	delete(f.files, file)
	delete(f.doubt, file)
	for other := range f.files {
		f.doubt[other] = true
	}
}

// oldest is the file that has failed for the longest time.
func (f *failures) oldest() (one Failure, ok bool) {
	for file, other := range f.files {
		if !f.doubt[file] && (!ok || other.Since.Before(one.Since)) {
			one, ok = other, true
		}
	}
	return one, ok
}
