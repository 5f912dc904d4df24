// Package files holds what all files of the store have in common: how an open
// file becomes a final one, what may stand in their names, and how a failing disk
// is told from a torn file.
//
// A file is written under its final name with OpenSuffix behind it. Settle takes
// the suffix away, durably, when the file is whole; what has no suffix is never
// touched again. The package keeps no state and starts nothing. What stands in
// the files, and how they are repaired, is known to its users.
package files
