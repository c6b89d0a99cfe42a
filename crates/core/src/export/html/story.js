
'use strict';
// What every page with a transcript can do: find words, open what hides an element, and copy a message.
const transcript = (() => {
  const most = 5000;
  // Adds the places of some words below an element.
  const places = (root, words, found = []) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && found.length < most) {
      const text = walker.currentNode.data.toLowerCase();
      for (const word of words) {
        for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
          // Lower case can be longer.
          if (at + word.length > walker.currentNode.length) break;
          const range = new Range();
          range.setStart(walker.currentNode, at);
          range.setEnd(walker.currentNode, at + word.length);
          found.push(range);
        }
      }
    }
    return found;
  };
  const mark = (name, found) => {
    if (!window.Highlight || !CSS.highlights) return;
    CSS.highlights.delete(name);
    if (found.length > 0) CSS.highlights.set(name, new Highlight(...found));
  };
  const unfold = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
  };
  const foldAll = (root, isOpen) => {
    for (const details of root.querySelectorAll('details')) details.open = isOpen;
  };
  const textOf = (article) => {
    const words = [...article.querySelectorAll(':scope > .words')].map((part) => part.innerText).join('\n\n');
    return words || article.innerText;
  };
  return { places, mark, unfold, foldAll, textOf };
})();
