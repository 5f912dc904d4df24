// Command crawlnode is the crawler's program. It hands the process's arguments,
// streams, environment and signals to package cli and exits with the code that
// it returns; it decides nothing itself.
package main
