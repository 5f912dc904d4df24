// Package mistakes tells people what they most likely meant: the flags and verbs of other tools,
// mistyped verbs and environment variables, values that look like flags, arguments that are missing.
// It is pure: it reads the model of the command line and texts, and prints nothing.
package mistakes
