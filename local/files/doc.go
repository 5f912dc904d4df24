// Package files has what the writers of output files share: how an open file becomes a final one,
// which characters names may have, and how to tell a failing disk from a torn file and from a full
// disk. A File writes one file; an End lets it grow by whole pieces.
//
// A file is written under its final name plus OpenSuffix. Finish removes
// the suffix, durably, when the file is complete; a file without the suffix is never
// changed again. The package keeps no state and starts no goroutine. Its callers know the
// contents of the files, and how to repair them.
package files
