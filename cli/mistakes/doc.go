// Package mistakes suggests what a person most likely meant when the command line is wrong: flags
// and verbs of other tools, mistyped verbs and environment variables, values that look like flags,
// missing arguments. It is pure: it reads the model of the command line and the arguments, and
// prints nothing.
package mistakes
