// sum NUMBERS RESULT: adds the numbers of one file, one a line, into another.
// What a tool in this language does without thinking: goroutines, a timer, the
// environment, files by absolute path, a panic on bad input.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	fmt.Printf("hello from go, %s\n", os.Getenv("WHO"))
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}

	numbers := make(chan int)
	var readers sync.WaitGroup
	for _, line := range strings.Fields(string(text)) {
		readers.Add(1)
		go func(line string) {
			defer readers.Done()
			number, err := strconv.Atoi(line)
			if err != nil {
				panic(err)
			}
			numbers <- number
		}(line)
	}
	go func() {
		readers.Wait()
		close(numbers)
	}()
	sum := 0
	for number := range numbers {
		sum += number
	}

	before := time.Now()
	time.Sleep(20 * time.Millisecond)
	if time.Since(before) < 20*time.Millisecond {
		panic("woken before the time")
	}
	if err := os.WriteFile(os.Args[2], []byte(fmt.Sprintln(sum)), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
	fmt.Println("sum", sum)
}
