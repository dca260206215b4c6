package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type answer struct {
	Content    []block        `json:"content"`
	Structured map[string]any `json:"structuredContent,omitempty"`
	IsError    bool           `json:"isError"`
}

func say(text string, structured map[string]any, isError bool) {
	json.NewEncoder(os.Stdout).Encode(answer{[]block{{"text", text}}, structured, isError})
}

func main() {
	var arguments struct{ Text string }

	if err := json.NewDecoder(os.Stdin).Decode(&arguments); err != nil {
		say("the arguments can't be read: "+err.Error(), nil, true)
		return
	}
	lines := strings.Count(arguments.Text, "\n")
	words := len(strings.Fields(arguments.Text))
	say(fmt.Sprintf("%d lines, %d words", lines, words),
		map[string]any{"lines": lines, "words": words}, false)
}
