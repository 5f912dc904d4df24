// Package files has what all files of the store have in common: how an open
// file becomes a final one, which characters names may have, how a failing disk
// is told from a torn file, and a full one from one that fails. A File is what writes one, and
// an End has it grow by whole pieces.
//
// A file is written under its final name plus OpenSuffix. Finish removes
// the suffix, durably, when the file is complete; a file without the suffix is never
// changed again. The package keeps no state and starts no goroutine. Its users know the
// contents of the files, and how they are repaired.
package files
