package analyse

// Stop words, folded as the Scanner folds them. The lists are short on purpose: a word that is
// missing costs room in the index, one too many cannot be found in a text.
const (
	stopEnglish = `a an and are as at be been but by can could did do does for from had has have he her his how i if in into is it its
		may me more most must my no nor not of on or our out she should so some such than that the their them then there these they this those
		to too under up upon us very was we were what when where which while who whom why will with would you your`
	stopGerman = `aber alle als also am an auch auf aus bei bin bis bist da dadurch daher damit dann das dass dein deine dem den der des dessen
		die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es euer fur hatte hatten hier hinter
		ich ihr ihre im in ist ja jede jedem jeden jeder jedes kann kein keine mein mit nach nicht noch nur oder ohne sehr sein seine sich sie sind so
		soll sollte sondern uber um und uns unser unter vom von vor wann war warum was weiter wenn wer werde werden wie wieder will wir wird wo zu zum zur`
	stopFrench = `a ai alors au aucun aussi autre aux avec car ce cela ces cet cette ceux chaque comme dans de des donc du elle elles en est et etre
		eu fait il ils je la le les leur leurs lui ma mais me meme mes mon ne nos notre nous on ont ou par pas peut plus pour qu que quel quelle qui sa sans
		se ses si son sont sur ta te tes ton tous tout tres tu un une vos votre vous y`
	stopSpanish = `a al algo ante antes como con contra cual cuando de del desde donde durante e el ella ellas ellos en entre era es esa ese eso esta
		estan este esto estos fue ha han hasta hay la las le les lo los mas me mi mientras muy no nos o otra otro para pero poco por porque que quien se
		ser si sin sobre son su sus tambien tanto te todo todos tu un una uno unos y ya yo`
	stopItalian = `a ad agli ai al alla alle anche che chi ci coi col come con contro cui da dagli dai dal dalla dalle degli dei del della delle di
		dove e ed era gli ha hanno ho i il in io la le lei li lo loro lui ma mi mia mio ne negli nei nel nella nelle no noi non nostro o per perche piu
		quale quando quanto quella quelle quelli quello questa queste questi questo se si sia sono su sua sue sugli sui sul sulla suo tra tu un una uno vi voi`
	stopPortuguese = `a ao aos as ate com como da das de dela dele do dos e ela elas ele eles em entre era essa esse esta este eu foi ha isso isto ja
		lhe mais mas me mesmo meu minha muito na nas nao nem no nos nossa nosso num numa o os ou para pela pelas pelo pelos por qual quando que quem se sem
		ser seu sua sao so tambem te tem um uma voce`
	stopDutch = `aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge geen geweest haar had
		heb hebben heeft hem het hier hij hoe hun iets ik in is ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat
		onder ons ook op over reeds te tegen toch toen tot u uit uw van veel voor want waren was wat we wel werd wezen wie wij wil worden zal ze zich zij zijn zo zou`
	stopSwedish = `alla allt att av bara blev bli blir da de dem den denna deras dess dessa det detta dig din du dar efter ej eller en er ett fran for
		ha hade han hans har hon hur har i icke in inte ja jag kan kunde man med mig min mot mycket nar nu nagon nagot och om oss pa sa sedan sin sina sitt
		skall skulle som till under upp ut utan vad var vara vem vi vid vilka vilken ar at over`
	stopDanish = `af alle alt at blev bliver da de den denne der deres det dette dig din disse dog du efter eller en end er et for fra ham han hans har
		havde hende hendes her hos hun hvad hvis hvor i ikke ind jeg jer kan kunne man mange med meget men mig min mod ned noget nogle nu nar og ogsa om op os over
		pa sadan selv sig sin sit skal skulle som til ud under var vi vil ville vore pa`
	stopRussian = `а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если есть еще же за здесь и
		из или им их к как когда кто ли либо мне может мы на надо наш не него нее нет ни них но ну о об однако он она они оно от очень по под при с со так также такой
		там те тем то того тоже той только том ты у уже хотя чего чей чем что чтобы чье чья эта эти это этот я`
)
