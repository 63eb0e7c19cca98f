// Japanese of what the search says while it runs, in place of Sphinx's, which lacks some of it.
// Not by `addTranslations`, which makes a function of a text: the pages' policy forbids that.
Object.assign(Documentation.TRANSLATIONS, {
  "Search Results": "検索結果",
  Searching: "検索しています",
  "Preparing search...": "検索の準備をしています…",
  "Search finished, found one page matching the search query.": ["${resultCount}ページが見つかりました。"],
  "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.":
    "当てはまるページはありません。語の書き方を確かめてください。",
  ", in ": "、",
  "Hide Search Matches": "検索語の強調を消す",
});
Documentation.PLURAL_EXPR = () => 0;
Documentation.LOCALE = "ja";
