package main

import (
	"testing"

	"github.com/sparkstate/sparkstate/examples/internal/readme"
)

// TestReadme takes the walk of the README as a newcomer would.
func TestReadme(t *testing.T) {
	readme.Run(t, readme.File{Name: "README.md", Top: "../..", Tools: []string{"jq"}})
}
